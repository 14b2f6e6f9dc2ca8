from trust.mutants import mutants_of


def test_a_mutant_is_the_file_with_one_change():
    mutants = mutants_of("objectives/hinge.py")
    assert mutants
    assert len({mutant.code for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        compile(mutant.code, "hinge.py", "exec")
