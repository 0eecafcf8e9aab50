#include "runtime/api/front_body.h"

#include "base/error.h"
#include "web/request_input.h"

int front_body_read(const struct request_input *input, int64_t max_bytes, struct strbuf *body,
                    struct error *err)
{
    int64_t length = 0;

    if (request_input_content_length(input, &length, err) < 0)
        return error_wrap(err, "Content-Length");
    if (length < 0)
        return 0;
    if (length > max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "the body is larger than %lld bytes",
                         (long long)max_bytes);
    return request_input_read_body(input, length, (size_t)max_bytes, body, err);
}
