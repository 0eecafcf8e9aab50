#include "sandbox/browser/screenshot.h"

#include "base/error.h"
#include "base/json.h"
#include "sandbox/browser/driver.h"

/* An event may have a megabyte, and the state's text may need a fifth of it. */
enum { MAX_PICTURE_BYTES = 700000 };

/* Each with half the pixels of the one before. */
static const double scales[] = {1.0, 0.7, 0.5, 0.35, 0.25};

static int measure_view(struct driver *driver, json_t **clip_out, struct error *err)
{
    json_auto_t *result = NULL;
    const json_t *view = NULL;
    json_t *clip = NULL;

    if (driver_ask_tab(driver, "Page.getLayoutMetrics", NULL, &result, err) < 0)
        return -1;
    view = json_object_get(result, "cssVisualViewport");
    clip = json_object();
    json_put(clip, "x", json_real(json_number_or(view, "pageX", 0)));
    json_put(clip, "y", json_real(json_number_or(view, "pageY", 0)));
    json_put(clip, "width", json_real(json_number_or(view, "clientWidth", 1280)));
    json_put(clip, "height", json_real(json_number_or(view, "clientHeight", 800)));
    *clip_out = clip;
    return 0;
}

static int take_picture(struct driver *driver, const json_t *view, double scale,
                        json_t **picture_out, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();
    json_t *clip = json_deep_copy(view);

    json_put(clip, "scale", json_real(scale));
    json_put_text(params, "format", "png");
    json_put(params, "clip", clip);
    if (driver_ask_tab(driver, "Page.captureScreenshot", params, &result, err) < 0)
        return -1;
    if (!json_is_string(json_object_get(result, "data")))
        return error_set(err, ERROR_INVALID, "The browser did not return a screenshot.");
    *picture_out = json_incref(json_object_get(result, "data"));
    return 0;
}

int screenshot_take(struct driver *driver, json_t **picture_out, struct error *err)
{
    json_auto_t *view = NULL;

    if (measure_view(driver, &view, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(scales); i++) {
        json_auto_t *picture = NULL;

        if (take_picture(driver, view, scales[i], &picture, err) < 0)
            return -1;
        if (json_string_length(picture) <= MAX_PICTURE_BYTES) {
            *picture_out = json_incref(picture);
            return 0;
        }
    }
    driver_note(driver, "The screenshot was too large to be shown.");
    return 0;
}
