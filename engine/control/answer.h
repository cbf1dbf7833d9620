/* The text of an answer of the control server, in a fixed buffer: a sentence, or JSON. One thread uses an answer. */
#ifndef STROBE_CONTROL_ANSWER_H
#define STROBE_CONTROL_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STROBE_ANSWER_BYTES = 8192, STROBE_ANSWER_HEAD_BYTES = 320 };

/* Bytes that a client fetches: a session in memory of its own. */
struct strobe_control_bytes {
    void *at; /* NULL: none */
    size_t bytes;
};

struct strobe_answer {
    int status; /* of HTTP */
    bool is_json;
    bool is_cut;                       /* the text did not fit */
    struct strobe_control_bytes bytes; /* sent instead of the text, unless `at` is NULL */
    uint32_t length;                   /* of the text */
    char text[STROBE_ANSWER_BYTES];
};

/* Begins an empty answer with this status. */
void strobe_answer_begin(struct strobe_answer *a, int status);

/* Makes the answer a sentence, "PART: PART" when both parts are not empty, with a line end. */
void strobe_answer_sentence(struct strobe_answer *a, int status, const char *first, const char *second);

/* Append a text, a decimal number, and a text as a JSON string with its quotes. What does not fit sets is_cut. */
void strobe_answer_add(struct strobe_answer *a, const char *text);
void strobe_answer_add_number(struct strobe_answer *a, uint64_t number);
void strobe_answer_add_string(struct strobe_answer *a, const char *text);

/* Writes the head of the answer: status line and header fields. Returns its length. */
uint32_t strobe_answer_head(const struct strobe_answer *a, char head[STROBE_ANSWER_HEAD_BYTES]);

#endif
