#include "llm/window.h"

#include <stddef.h>

#include "base/json.h"
#include "llm/llm.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/model_table.h"

int64_t window_of(const json_t *spec, const struct model_facts *facts)
{
    return json_int_or(spec, "max_input_tokens", facts != NULL ? facts->window_tokens : 0);
}

int64_t llm_window_tokens(const struct catalogue *catalogue, const json_t *spec)
{
    const struct model_facts *facts = catalogue_find_model(catalogue, catalogue_model_name(spec));

    return window_of(spec, facts);
}
