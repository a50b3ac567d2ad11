#!/bin/sh
# A child that lies: the test program, in the part that this file's name says. See forged.rs.
export ISOLANE_FORGED_PART="${0##*/}"
exec "${0%/*}/it" boxed::liar::part --exact --nocapture
