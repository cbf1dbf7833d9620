#include "engine/trace/symbols/code_list.h"

#include "engine/util/array.h"

#include <stdlib.h>

void strobe_code_list_add_bad(struct strobe_code_list *list, uint64_t place)
{
    if (!list->bad++)
        list->first_bad = place;
}

enum strobe_status strobe_code_list_add(struct strobe_code_list *list, const struct strobe_code *code, uint64_t place)
{
    if (!code->bytes || code->start + code->bytes < code->start || !code->name_bytes) {
        strobe_code_list_add_bad(list, place);
        return STROBE_OK;
    }
    if (!strobe_array_reserve(&list->at, &list->room, list->count + 1))
        return STROBE_IO;
    list->at[list->count++] = *code;
    return STROBE_OK;
}

void strobe_code_list_free(struct strobe_code_list *list)
{
    free(list->at);
    *list = (struct strobe_code_list){0};
}
