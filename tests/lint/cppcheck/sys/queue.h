/*
 * The lists of libc that deft uses, for cppcheck, which reads no system headers.
 */
#ifndef DEFT_TESTS_LINT_SYS_QUEUE_H
#define DEFT_TESTS_LINT_SYS_QUEUE_H

#define LIST_HEAD(name, type)                                                                      \
    struct name {                                                                                  \
        struct type *lh_first;                                                                     \
    }
#define LIST_HEAD_INITIALIZER(head) {0}
#define LIST_ENTRY(type)                                                                           \
    struct {                                                                                       \
        struct type *le_next;                                                                      \
        struct type **le_prev;                                                                     \
    }
#define LIST_FIRST(head) ((head)->lh_first)
#define LIST_NEXT(element, field) ((element)->field.le_next)
#define LIST_FOREACH(element, head, field)                                                         \
    for (element = LIST_FIRST(head); element; element = LIST_NEXT(element, field))

#define STAILQ_HEAD(name, type)                                                                    \
    struct name {                                                                                  \
        struct type *stqh_first;                                                                   \
        struct type **stqh_last;                                                                   \
    }
#define STAILQ_ENTRY(type)                                                                         \
    struct {                                                                                       \
        struct type *stqe_next;                                                                    \
    }
#define STAILQ_FIRST(head) ((head)->stqh_first)
#define STAILQ_FOREACH(element, head, field)                                                       \
    for (element = STAILQ_FIRST(head); element; element = (element)->field.stqe_next)

#define TAILQ_HEAD(name, type)                                                                     \
    struct name {                                                                                  \
        struct type *tqh_first;                                                                    \
        struct type **tqh_last;                                                                    \
    }
#define TAILQ_ENTRY(type)                                                                          \
    struct {                                                                                       \
        struct type *tqe_next;                                                                     \
        struct type **tqe_prev;                                                                    \
    }
#define TAILQ_FIRST(head) ((head)->tqh_first)
#define TAILQ_NEXT(element, field) ((element)->field.tqe_next)
#define TAILQ_FOREACH(element, head, field)                                                        \
    for (element = TAILQ_FIRST(head); element; element = TAILQ_NEXT(element, field))

#endif
