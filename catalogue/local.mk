# catalogue: names of models that the page offers; every provider in it can be called
dist_pkgdata_DATA += catalogue/models.json
