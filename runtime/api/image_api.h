/*
 * Runtime API routes about images: existence and name prefix.
 */
#ifndef DEFT_RUNTIME_API_IMAGE_API_H
#define DEFT_RUNTIME_API_IMAGE_API_H

#include "runtime/api/http_front.h"

/* GET /registry_prefix -> 200 {"registry_prefix"} */
front_handle image_handle_prefix;
/* GET /image_exists?image= -> 200 {"exists", "image"?} | 400: on this host, or in its registry */
front_handle image_handle_exists;

#endif
