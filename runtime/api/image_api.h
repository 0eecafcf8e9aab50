/*
 * The Runtime API's handlers about images: what there is, and how it is called.
 */
#ifndef DEFT_RUNTIME_API_IMAGE_API_H
#define DEFT_RUNTIME_API_IMAGE_API_H

#include "runtime/api/http_front.h"

/* GET /registry_prefix -> 200 {"registry_prefix"} */
front_handle image_handle_prefix;
/* GET /image_exists?image= -> 200 {"exists", "image"?} | 400: on this host, or to be had */
front_handle image_handle_exists;

#endif
