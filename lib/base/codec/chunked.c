#include "base/codec/chunked.h"

#include <string.h>

#include "base/error.h"

enum { MAX_DIGITS = 12, MAX_FRAMING_BYTES = 8192 };

static int digit_value(char c)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    int value = at != NULL ? (int)(at - digits) : -1;

    return value > 15 ? value - 6 : value;
}

static int bad(struct error *err)
{
    return error_set(err, ERROR_INVALID, "The body is not valid chunked encoding");
}

/* Reads the size's digits and the character that ends them. */
static int take_size(struct chunked *chunked, char c, struct error *err)
{
    int value = digit_value(c);

    if (value >= 0) {
        if (++chunked->n_digits > MAX_DIGITS)
            return bad(err);
        chunked->left = chunked->left * 16 + value;
        return 0;
    }
    if (chunked->n_digits == 0 || strchr("\r\n; \t", c) == NULL || c == '\0')
        return bad(err);
    chunked->state = CHUNKED_EXTENSION;
    return 0;
}

static void begin_data(struct chunked *chunked)
{
    chunked->state = chunked->left > 0 ? CHUNKED_DATA : CHUNKED_TRAILER;
    chunked->n_digits = 0;
    chunked->n_line = 0;
    if (chunked->state == CHUNKED_DATA)
        chunked->n_framing = 0;
}

/* A line end that closes a trailer, or, in an empty line, the body. */
static void end_trailer(struct chunked *chunked)
{
    if (chunked->n_line == 0)
        chunked->state = CHUNKED_OVER;
    chunked->n_line = 0;
}

static int take_character(struct chunked *chunked, char c, struct error *err)
{
    if (++chunked->n_framing > MAX_FRAMING_BYTES)
        return bad(err);
    if (chunked->state == CHUNKED_SIZE && take_size(chunked, c, err) < 0)
        return -1;
    if (chunked->state == CHUNKED_SIZE)
        return 0;
    if (c != '\n') {
        if (chunked->state == CHUNKED_DATA_END && c != '\r')
            return bad(err);
        chunked->n_line += c != '\r';
        return 0;
    }
    if (chunked->state == CHUNKED_EXTENSION) {
        begin_data(chunked);
    } else if (chunked->state == CHUNKED_DATA_END) {
        chunked->state = CHUNKED_SIZE;
        chunked->n_line = 0;
    } else {
        end_trailer(chunked);
    }
    return 0;
}

static void give_data(struct chunked *chunked, struct chunked_input *input, const char **data_out,
                      size_t *len_out)
{
    size_t len = (int64_t)input->len < chunked->left ? input->len : (size_t)chunked->left;

    *data_out = input->bytes;
    *len_out = len;
    input->bytes += len;
    input->len -= len;
    chunked->left -= (int64_t)len;
    if (chunked->left == 0)
        chunked->state = CHUNKED_DATA_END;
}

int chunked_next(struct chunked *chunked, struct chunked_input *input, const char **data_out,
                 size_t *len_out, struct error *err)
{
    *len_out = 0;
    while (input->len > 0 && chunked->state != CHUNKED_OVER) {
        if (chunked->state == CHUNKED_DATA) {
            give_data(chunked, input, data_out, len_out);
            return 0;
        }
        if (take_character(chunked, *input->bytes, err) < 0)
            return -1;
        input->bytes++;
        input->len--;
    }
    return 0;
}
