def test_every_cell_becomes_a_line_and_a_part_of_one_page(recsieve, in_this_process, log, tmp_path):
    board = tmp_path / "board.toml"
    board.write_text(
        'strategies = ["keep-all", "truncated"]\ntrials = 1\nseeds = 2\nsettings = { metric = "ndcg@5" }\n'
        "[models.ials]\nmodel_options = { factors = 4 }\n"
        f'[data.shop]\nsource = "{log}"\nuser = "customer"\nitem = "product"\nfalse_positive = "rating < 3"\n'
    )
    answer = recsieve("leaderboard", board, "--out", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("shop-ials: ")
    assert f"The leaderboard is on the page {tmp_path / 'out' / 'leaderboard.html'}." in answer.out
    assert "iALS" in (tmp_path / "out" / "leaderboard.html").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "results" / "shop-ials.json").exists()
