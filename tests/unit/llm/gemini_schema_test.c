/*
 * JSON Schemas in the form that Gemini's native API takes.
 */
#include "llm/formats/gemini_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "llm/llm_fixture.h"

#define ANY "'anyOf':[{'type':'STRING'},{'type':'NUMBER'},{'type':'BOOLEAN'},{'type':'OBJECT'}]"

/* The form of a property a with this schema, in a schema with these further members. */
static char *form_of(const char *property, const char *more)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *schema = NULL;
    json_auto_t *form = NULL;

    strbuf_appendf(&text, "{'type':'object','properties':{'a':%s}%s}", property, more);
    schema = parsed_quotes(text.text);
    form = gemini_schema_new(schema);
    assert_non_null(form);
    return json_to_text(form);
}

static const struct {
    const char *property;
    const char *form;
} properties[] = {
    {"{'type':'string'}", "{'type':'STRING'}"},
    {"{'type':'number','minimum':1,'maximum':2.5,'exclusiveMinimum':0,'multipleOf':2}",
     "{'type':'NUMBER','minimum':1,'maximum':2.5}"},
    {"{'type':'integer','minLength':1}", "{'type':'INTEGER'}"},
    {"{'type':'boolean','default':true,'title':'T'}", "{'type':'BOOLEAN'}"},
    {"{'type':'string','minLength':1,'maxLength':9,'pattern':'^a','format':'uri','minimum':1}",
     "{'type':'STRING','minLength':1,'maxLength':9}"},
    {"{'type':'string','format':'date-time'}", "{'type':'STRING','format':'date-time'}"},
    {"{'type':'integer','format':'date-time'}", "{'type':'INTEGER'}"},
    {"{'type':'string','description':'d'}", "{'type':'STRING','description':'d'}"},
    {"{'type':'array','items':{'type':'string'},'minItems':1,'maxItems':2,'uniqueItems':true}",
     "{'type':'ARRAY','items':{'type':'STRING'},'minItems':1,'maxItems':2}"},
    {"{'type':'array'}", "{'type':'ARRAY','items':{" ANY "}}"},
    {"{'type':'array','items':[{'type':'string'}]}", "{'type':'ARRAY','items':{" ANY "}}"},
    {"{'items':{'type':'string'}}", "{'type':'ARRAY','items':{'type':'STRING'}}"},
    {"{'type':'object','properties':{'b':{'type':'string'}},'required':['b','c',7],"
     "'additionalProperties':false}",
     "{'type':'OBJECT','properties':{'b':{'type':'STRING'}},'required':['b']}"},
    {"{'properties':{'b':{'type':'string'}},'anyOf':[{'required':['b']},{'required':[]}]}",
     "{'type':'OBJECT','properties':{'b':{'type':'STRING'}}}"},
    {"{'type':'object','additionalProperties':{'type':'string'}}", "{'type':'OBJECT'}"},
    {"{}", "{" ANY "}"},
    {"true", "{" ANY "}"},
    {"7", "{" ANY "}"},
    {"{'type':'odd'}", "{" ANY "}"},
    {"{'description':'d'}", "{" ANY ",'description':'d'}"},
    /* enums */
    {"{'type':'string','enum':['x','y']}", "{'type':'STRING','enum':['x','y']}"},
    {"{'enum':['x',null]}", "{'type':'STRING','enum':['x']}"},
    {"{'const':'x'}", "{'type':'STRING','enum':['x']}"},
    {"{'const':'x','enum':['x','y']}", "{'type':'STRING','enum':['x']}"},
    {"{'const':5,'description':'d'}", "{'type':'INTEGER','description':'d\\nOne of: 5'}"},
    {"{'type':'string','enum':['x','']}",
     "{'type':'STRING','description':'One of: \\\"x\\\", \\\"\\\"'}"},
    {"{'type':'integer','enum':[1,2]}", "{'type':'INTEGER','description':'One of: 1, 2'}"},
    {"{'enum':[true,false]}", "{'type':'BOOLEAN','description':'One of: true, false'}"},
    /* null */
    {"{'type':['string','null']}", "{'type':'STRING','nullable':true}"},
    {"{'anyOf':[{'type':'string','description':'e'},{'type':'null'}],'description':'d'}",
     "{'type':'STRING','nullable':true,'description':'d'}"},
    {"{'anyOf':[{'type':'array','items':{'type':'integer'}},{'const':null}]}",
     "{'type':'ARRAY','items':{'type':'INTEGER'},'nullable':true}"},
    /* alternatives */
    {"{'type':['string','integer','null'],'description':'d','maxLength':3,'maximum':4}",
     "{'anyOf':[{'type':'STRING','maxLength':3},{'type':'INTEGER','maximum':4}],'nullable':true,"
     "'description':'d'}"},
    {"{'type':['string','integer'],'anyOf':[{'maxLength':3},{'type':'null'}]}",
     "{'anyOf':[{'type':'STRING','maxLength':3},{'type':'INTEGER'}],'nullable':true}"},
    {"{'oneOf':[{'type':'string'},{'type':'object','properties':{'b':{'type':'string'}}},"
     "{'type':'null'}]}",
     "{'anyOf':[{'type':'STRING'},{'type':'OBJECT','properties':{'b':{'type':'STRING'}}}],"
     "'nullable':true}"},
    {"{'allOf':[{'type':'object','properties':{'b':{'type':'string'}},'required':['b']},"
     "{'allOf':[{'properties':{'c':{'type':'integer'},'b':{'type':'integer'}},"
     "'required':['c']}]}]}",
     "{'type':'OBJECT','properties':{'b':{'type':'STRING'},'c':{'type':'INTEGER'}},"
     "'required':['b','c']}"},
    /* references */
    {"{'$ref':'#/$defs/s','description':'d'}", "{'type':'STRING','description':'s'}"},
    {"{'$ref':'#/$defs/via'}", "{'type':'STRING','description':'s'}"},
    {"{'$ref':'#/$defs/a~1b~0%20c'}", "{'type':'INTEGER'}"},
    {"{'$ref':'#/$defs/list/1'}", "{'type':'BOOLEAN'}"},
    {"{'anyOf':[{'$ref':'#/$defs/s'},{'$ref':'#/$defs/null'}]}",
     "{'type':'STRING','nullable':true,'description':'s'}"},
    {"{'$ref':'#/$defs/none'}", "{" ANY "}"},
    {"{'$ref':'#/$defs/list/2'}", "{" ANY "}"},
    {"{'$ref':'#/$defs/circle'}", "{" ANY "}"},
    {"{'$ref':'https://a/b'}", "{" ANY "}"},
    {"{'$ref':'#/$defs/tree'}",
     "{'type':'OBJECT','properties':{'b':{'type':'ARRAY','items':{'type':'OBJECT'}}}}"},
    {"{'$ref':'#'}", "{'type':'OBJECT'}"},
};

#define DEFS                                                                                       \
    ",'$defs':{'s':{'type':'string','description':'s'},'via':{'$ref':'#/$defs/s'},"                \
    "'a/b~ c':{'type':'integer'},'list':[7,{'type':'boolean'}],'null':{'type':'null'},"            \
    "'circle':{'$ref':'#/$defs/circle'},"                                                          \
    "'tree':{'type':'object','properties':{'b':{'type':'array','items':{'$ref':'#/$defs/"          \
    "tree'}}}}}"

static void schemas_have_the_formats_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(properties); i++) {
        CLEANUP(mem_freep) char *form = form_of(properties[i].property, DEFS);

        assert_quotes_at(form, "properties.a", properties[i].form);
    }
}

static void parameters_are_an_object(void **state)
{
    CLEANUP(mem_freep) char *form = form_of("{'type':'string'}", ",'required':['a'],'title':'T',"
                                                                 "'description':'d','$schema':'x'");
    static const char *const none[] = {"{}", "{'type':'object','properties':{}}",
                                       "{'type':'string'}", "true", "{'$ref':'#'}"};

    (void)state;
    assert_quotes_at(form, "",
                     "{'type':'OBJECT','properties':{'a':{'type':'STRING'}},"
                     "'required':['a'],'description':'d'}");
    for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
        json_auto_t *schema = parsed_quotes(none[i]);

        assert_null(gemini_schema_new(schema));
    }
    assert_null(gemini_schema_new(NULL));
}

/* Each level refers twice to the next. */
static void references_do_not_multiply(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *made = NULL;
    json_auto_t *schema = NULL;
    json_auto_t *form = NULL;

    (void)state;
    strbuf_append(&text, "{'type':'object','properties':{'a':{'$ref':'#/$defs/d0'}},'$defs':{");
    for (int i = 0; i < 15; i++)
        strbuf_appendf(&text,
                       "'d%d':{'type':'object','description':'a long description of this level',"
                       "'properties':{'x':{'$ref':'#/$defs/d%d'},'y':{'$ref':'#/$defs/d%d'}}},",
                       i, i + 1, i + 1);
    strbuf_append(&text, "'d15':{'type':'string'}}}");
    schema = parsed_quotes(text.text);
    form = gemini_schema_new(schema);
    made = json_to_text(form);
    assert_true(strlen(made) > 10000);
    assert_true(strlen(made) < 300000);
}

/* Schemas that many properties refer to; @: a long text. */
static const char *const long_schemas[] = {
    "{'type':'string','enum':['@']}",
    "{'type':'string','description':'@'}",
    "{'const':{'@':1}}",
    "{'type':'integer','enum':['@']}",
    "{'properties':{'@':{'type':'string'}}}",
    "{'properties':{'@':{'type':'string'}},'required':['@','@','@']}",
};

static void append_with_long_text(struct strbuf *out, const char *schema)
{
    for (; *schema != '\0'; schema++) {
        if (*schema != '@')
            strbuf_append_char(out, *schema);
        for (int i = 0; *schema == '@' && i < 20000; i++)
            strbuf_append_char(out, 'x');
    }
}

static void long_texts_do_not_multiply(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(long_schemas); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(mem_freep) char *made = NULL;
        json_auto_t *schema = NULL;
        json_auto_t *form = NULL;

        strbuf_append(&text, "{'type':'object','$defs':{'d':");
        append_with_long_text(&text, long_schemas[i]);
        strbuf_append(&text, "},'properties':{'first':{'type':'string'}");
        for (int k = 0; k < 1000; k++)
            strbuf_appendf(&text, ",'p%d':{'$ref':'#/$defs/d'}", k);
        strbuf_append(&text, "}}");
        schema = parsed_quotes(text.text);
        form = gemini_schema_new(schema);
        made = json_to_text(form);
        assert_true(strlen(made) < 50 * text.len);
    }
}

static void depth_has_an_end(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *form = NULL;
    size_t depth = 0;

    (void)state;
    for (int i = 0; i < 25; i++)
        strbuf_append(&text, "{'type':'array','items':");
    strbuf_append(&text, "{'type':'string'}");
    for (int i = 0; i < 25; i++)
        strbuf_append_char(&text, '}');
    form = form_of(text.text, "");
    for (const char *at = form; (at = strstr(at, "\"items\"")) != NULL; at++)
        depth++;
    assert_int_equal(depth, 15);
}

/* Long lists of values are told in part. */
static void values_that_cannot_be_listed_are_told(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *form = NULL;

    (void)state;
    strbuf_append(&text, "{'type':'integer','enum':[0");
    for (int i = 1; i < 1000; i++)
        strbuf_appendf(&text, ",%d", i);
    strbuf_append(&text, "]}");
    form = form_of(text.text, "");
    assert_non_null(strstr(form, "One of: 0, 1, 2, "));
    assert_non_null(strstr(form, ", ...\""));
    assert_true(strlen(form) < 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas_have_the_formats_form),
        cmocka_unit_test(parameters_are_an_object),
        cmocka_unit_test(references_do_not_multiply),
        cmocka_unit_test(long_texts_do_not_multiply),
        cmocka_unit_test(depth_has_an_end),
        cmocka_unit_test(values_that_cannot_be_listed_are_told),
    };

    json_setup();
    return cmocka_run_group_tests_name("gemini_schema", tests, NULL, NULL);
}
