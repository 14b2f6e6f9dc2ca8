from trust.mutants import Mutant, _count, _left, mutants_of


def test_a_mutant_is_the_file_with_one_change():
    mutants = mutants_of("objectives/hinge.py")
    assert mutants
    assert len({mutant.code for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        compile(mutant.code, "hinge.py", "exec")


def test_the_next_call_tries_survivors_again_and_then_goes_on_with_all_files():
    survived = {"possible": 4, "mutants": 2, "killed": 1, "survivors": [{"number": 1}]}
    untried = {"possible": 2, "mutants": 0, "killed": 0, "survivors": []}
    left = _left({"a.py": survived, "b.py": untried})
    assert left == [("a.py", 1), ("b.py", 0), ("a.py", 2), ("b.py", 1), ("a.py", 3)]


def test_a_survivor_that_is_noticed_later_counts_as_killed_once():
    counts = {"possible": 4, "mutants": 2, "killed": 1, "survivors": [{"number": 1}]}
    _count(counts, 1, Mutant("a.py", "", "1", "2"), noticed=True)
    assert (counts["mutants"], counts["killed"], counts["survivors"]) == (2, 2, [])
    _count(counts, 2, Mutant("a.py", "", "1", "2"), noticed=False)
    assert (counts["mutants"], counts["killed"]) == (3, 2)
    assert [line["number"] for line in counts["survivors"]] == [2]
