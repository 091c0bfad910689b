#!/usr/bin/env bats
# Formulas of the analysis against NumPy, SciPy and scikit-learn, as Debian packages them.

bats_require_minimum_version 1.5.0
load lib

compare_with() {
  /usr/bin/python3 -c "import numpy, $1" 2>/dev/null || skip "this Python library is not installed"
  run -0 /usr/bin/python3 "$PL_SOURCE/tests/cli/formulas_check.py" "$PL_BUILD/tests/formulas" "$1"
  [[ $output == *"$2 comparisons" ]] || fail "$output"
}

@test "formulas: as NumPy, or by definition" {
  compare_with numpy 231
}

@test "formulas: as SciPy" {
  compare_with scipy 67
}

@test "formulas: as scikit-learn" {
  compare_with sklearn 10
}
