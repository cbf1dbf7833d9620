#include "tests/contract_art/contract.h"

const struct contract_case contract_cases_heap[] = {
    {0},
};
