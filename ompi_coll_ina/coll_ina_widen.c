/* coll_ina_widen.c: makes `--mca coll ina` alone a complete selection of coll components.
 * Used by coll_ina_params.c, at the only time when it works: while the framework registers its components, before it filters and opens them.
 * Does not touch a selection that excludes components (^name) or that already has basic and libnbc. */
#include "ina_config.h"

#include <string.h>

#include "ompi_coll_ina/coll_ina.h"

/* What a communicator needs beside allreduce: basic and libnbc have every function, tuned is what users are used to, self and inter
 * serve communicators of one rank and inter-communicators. */
static const char *const kHelpers[] = {"basic", "libnbc", "tuned", "self", "inter"};
enum { kHelperCount = sizeof kHelpers / sizeof kHelpers[0] };

static bool names(const char *selection, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = selection; NULL != at && '\0' != *at;) {
        const size_t item = strcspn(at, ",");
        if (item == length && 0 == strncmp(at, name, length)) {
            return true;
        }
        at += item;
        at += (',' == *at);
    }
    return false;
}

static mca_base_component_list_item_t *find_loaded(const char *name) {
    mca_base_component_list_item_t *item;
    OPAL_LIST_FOREACH(item, &ompi_coll_base_framework.framework_components, mca_base_component_list_item_t) {
        if (0 == strcmp(item->cli_component->mca_component_name, name)) {
            return item;
        }
    }
    return NULL;
}

/* A component inside libmpi (5.x). */
static const mca_base_component_t *find_static(const char *name) {
    const mca_base_component_t **list = ompi_coll_base_framework.framework_static_components;
    for (; NULL != list && NULL != *list; ++list) {
        if (0 == strcmp((*list)->mca_component_name, name)) {
            return *list;
        }
    }
    return NULL;
}

/* A component in a file of its own (4.x). */
static const mca_base_component_t *load(const char *name) {
    opal_list_t *files = NULL;
    if (OPAL_SUCCESS != mca_base_component_repository_get_components(&ompi_coll_base_framework, &files) || NULL == files) {
        return NULL;
    }
    mca_base_component_repository_item_t *file;
    OPAL_LIST_FOREACH(file, files, mca_base_component_repository_item_t) {
        if (0 == strcmp(file->ri_name, name) && OPAL_SUCCESS == mca_base_component_repository_open(&ompi_coll_base_framework, file)) {
            return file->ri_component_struct;
        }
    }
    return NULL;
}

/* The framework is walking its list when this runs: it has passed the head, so what stands there is not registered twice. */
static void prepend(const mca_base_component_t *component) {
    mca_base_component_list_item_t *item = find_loaded(component->mca_component_name);
    if (NULL != item) {
        opal_list_remove_item(&ompi_coll_base_framework.framework_components, &item->super);
    } else {
        item = OBJ_NEW(mca_base_component_list_item_t);
        if (NULL == item) {
            return;
        }
        item->cli_component = component;
    }
    opal_list_prepend(&ompi_coll_base_framework.framework_components, &item->super);
}

static void add_helper(const char *name) {
    if (NULL != find_loaded(name)) {
        return;
    }
    const mca_base_component_t *component = find_static(name);
    if (NULL == component) {
        component = load(name);
    }
    if (NULL == component) {
        return;
    }
    prepend(component);
    if (NULL != component->mca_register_component_params) {
        component->mca_register_component_params();
    }
}

void coll_ina_widen_selection(void) {
    const char *selection = ompi_coll_base_framework.framework_selection;
    if (NULL == selection || '^' == selection[0] || !names(selection, "ina") || (names(selection, "basic") && names(selection, "libnbc"))) {
        return;
    }
    char wide[1024];
    if (strlen(selection) > sizeof wide / 2) {
        return;
    }
    strcpy(wide, selection);
    for (int i = 0; i < kHelperCount; ++i) {
        if (!names(wide, kHelpers[i])) {
            strcat(strcat(wide, ","), kHelpers[i]);
        }
    }
    for (int i = 0; i < kHelperCount; ++i) {
        add_helper(kHelpers[i]);
    }
    const int variable = mca_base_var_find("ompi", "coll", NULL, NULL);
    if (variable >= 0) {
        mca_base_var_set_value(variable, wide, strlen(wide) + 1, MCA_BASE_VAR_SOURCE_SET, NULL);
    }
}
