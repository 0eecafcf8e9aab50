/*
 * The loops of jansson, for cppcheck, which reads no system headers.
 */
#ifndef DEFT_TESTS_LINT_JANSSON_H
#define DEFT_TESTS_LINT_JANSSON_H

#define json_auto_t json_t
#define json_array_foreach(array, index, value)                                                    \
    for (index = 0; index < json_array_size(array) && (value = json_array_get(array, index));      \
         index++)
#define json_object_foreach(object, key, value)                                                    \
    for (key = json_object_first(object); key && (value = json_object_get(object, key));           \
         key = json_object_next(object, key))
#define json_object_foreach_safe(object, n, key, value)                                            \
    for (key = json_object_first(object), n = json_object_keep(object, key);                       \
         key && (value = json_object_get(object, key)); key = json_object_next(object, n))

#endif
