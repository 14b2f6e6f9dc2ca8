"""A browser that opens pages from files, with nothing to ask of any network."""

import html
import json
import re
import shutil
import subprocess

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--virtual-time-budget=20000",
)  # fmt: skip

# The browser's time is virtual: on a busy machine its budget may run out while the page still waits for a real thing.
LOOKS = 6

# Before all else on the page: whatever goes wrong or is asked of the network is written down.
TRAP = """<script>
const trouble = [];
addEventListener("error", event => trouble.push(String(event.message)), true);
addEventListener("unhandledrejection", event => trouble.push(String(event.reason)));
addEventListener("securitypolicyviolation", event => trouble.push("refused " + event.blockedURI));
for (const kind of ["error", "warn"]) console[kind] = (...words) => trouble.push(words.join(" "));
</script>"""

# After all else: what a reader would see and do.
LOOK = """<script>
setTimeout(async () => {
  const seen = {};
  ACTIONS
  seen.requests = performance.getEntriesByType("resource").map(entry => entry.name);
  seen.trouble = trouble;
  seen.overflow = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  const note = document.createElement("pre");
  note.id = "seen";
  note.textContent = JSON.stringify(seen);
  document.body.append(note);
}, 5000);
</script>"""


@pytest.fixture
def browse(tmp_path):
    """A function that opens a page, does what a script says, and gives what that put into `seen`."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs Chromium, which is not installed here")

    def open_page(path, actions, width=1200):
        text = path.read_text(encoding="utf-8").replace("<head>", "<head>" + TRAP, 1)
        page = tmp_path / "watched.html"
        start, _, end = text.rpartition("</body>")
        page.write_text(f"{start}{LOOK.replace('ACTIONS', actions)}</body>{end}", encoding="utf-8")
        words = [
            chromium,
            *FLAGS,
            f"--user-data-dir={tmp_path / 'browser'}",
            f"--window-size={width},900",
            "--dump-dom",
        ]
        for _ in range(LOOKS):
            answer = subprocess.run([*words, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
            if found := re.search(r'<pre id="seen">(.*?)</pre>', answer.stdout, re.DOTALL):
                return json.loads(html.unescape(found[1]))
        pytest.fail("the page did not come to rest")

    return open_page
