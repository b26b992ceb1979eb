"""Analyses of the IR (which barriers all threads reach, which stores race), and check mode's instrumentation."""
