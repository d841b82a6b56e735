# The policies that tests name, whatever their names are.
# shellcheck shell=bash
# shellcheck disable=SC2034 # used by the scripts that source this file

ROOT_OF_POLICIES=$(dirname "${BASH_SOURCE[0]}")/../..
# The setting that chooses the policy with the number of tiles in option tiles.
FIXED=policy=$(basename "$(grep -l 'limits->tiles;' "$ROOT_OF_POLICIES"/policies/*.c)" .c)
# The name of the default policy.
DEFAULT_POLICY=$(sed -n 's/^CS_OPTION(policy, POLICY, "\([^"]*\)".*/\1/p' "$ROOT_OF_POLICIES/include/convshim/options.def")
