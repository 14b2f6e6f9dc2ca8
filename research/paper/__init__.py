"""The results of the WSDM 2021 paper, each in a file: which runs it needs, and what it makes of them.

`catalogue` names them, `published` holds what the paper printed, `data_sets` opens data, `runs` says what a run is,
`store` trains what is missing and keeps it for every result that needs the same run.
"""
