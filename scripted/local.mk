# scripted: files that scripted/<name> models play
scripteddir = $(pkgdatadir)/scripted
dist_scripted_DATA = scripted/answer.json scripted/hello.json
