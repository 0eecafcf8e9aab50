# fcgi
