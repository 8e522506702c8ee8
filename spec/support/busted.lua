-- SPDX-License-Identifier: MIT
-- Runs busted in the program that runs this script, e.g. the sanitized one.
require "busted.runner" { standalone = false }
