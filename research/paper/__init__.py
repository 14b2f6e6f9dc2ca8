"""The results of the WSDM 2021 paper: which runs each needs, and what it makes of them.

`published` holds what the paper printed, `data_sets` opens data, `runs` says what a run is, `reproduce` trains what is
missing and keeps it for every result that needs the same run.
"""

# By the names of their commands; figures are numbered as in the paper's source (1 and 2 are drawings).
TITLES = {
    "table1": "Table 1: clean training against normal training.",
    "table2": "Table 2: statistics of the data.",
    "table3": "Table 3: GMF, NeuMF and CDAE with CE, T-CE and R-CE.",
    "table4": "Table 4: GMF with NMTR and NR, which are told what was regretted, beside T-CE and R-CE.",
    "figure3": "Figure 3: training loss of true and false positives, the whole course and the early stage.",
    "figure4": "Figure 4: the effective T-CE loss at several iterations, with thresholds of a real run.",
    "figure5": "Figure 5: the R-CE loss and its weight function.",
    "figure6": "Figure 6: user groups by sparsity.",
    "figure7": "Figure 7: loss of false positives against the training loss under CE, T-CE and R-CE.",
    "figure8": "Figure 8: sensitivity to the drop rate, its ramp, and beta.",
    "figure9": "Figure 9: recall and precision of what T-CE discards, against discarding at random.",
    "phenomenon": "What the paper rests on: are false positives harder to fit, and is it more than popularity?",
}
