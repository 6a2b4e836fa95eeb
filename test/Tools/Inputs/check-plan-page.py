"""Opens the page of ppc-plan --emit html in a browser without a window and checks what its script has built.

usage: check-plan-page.py BROWSER PAGE SCRATCH
"""
import html.parser
import json
import os
import re
import subprocess
import sys

browser, page, scratch = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3]
os.makedirs(scratch, exist_ok=True)

# Added to the page: counts the pixels of the canvas by colour, and says how wide the plot is and how high its bars are.
COUNT = """<script>{
  const canvas = document.getElementById("timeline"), pen = canvas.getContext("2d");
  const shown = pen.getImageData(0, 0, canvas.width, canvas.height).data;
  const wanted = ["--c0", "--c5"].map(name => getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  ["forwardPixels", "backwardPixels"].forEach((name, i) => {
    const rgb = [1, 3, 5].map(at => parseInt(wanted[i].slice(at, at + 2), 16));
    let count = 0;
    for (let at = 0; at < shown.length; at += 4)
      if (rgb.every((value, j) => shown[at + j] === value)) ++count;
    document.body.dataset[name] = count;
  });
  document.body.dataset.plot = (canvas.width - 66 * devicePixelRatio) + " " + 16 * devicePixelRatio;
}</script>"""


def render(path):
    """The page as the script leaves it. No network: every host resolves to nothing."""
    return subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND",
         f"--user-data-dir={scratch}/profile", "--window-size=1240,3000", "--virtual-time-budget=4000", "--dump-dom", "file://" + path],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=600, check=True).stdout.decode()


class Elements(html.parser.HTMLParser):
    """Counts what the script has made: rows per table, marks per class, attributes of named elements."""

    def __init__(self):
        super().__init__()
        self.rows, self.classes, self.named, self.outside, self.table = {}, {}, {}, [], None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            self.named[attributes["id"]] = attributes
        if tag == "body":
            self.named["body"] = attributes
        if tag == "table":
            self.table = attributes.get("id")
        if tag == "tr" and self.table:
            self.rows[self.table] = self.rows.get(self.table, 0) + 1
        for name in attributes.get("class", "").split():
            self.classes[name] = self.classes.get(name, 0) + 1
        for key in ("src", "href"):
            if key in attributes:
                self.outside.append(attributes[key])


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: found {found}, expected {wanted}")


with open(page, encoding="utf-8") as file:
    text = file.read()
data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
addresses = set(re.findall(r"https?://[^\"' )]+", text)) - {"http://www.w3.org/2000/svg"}
expect("addresses in the page", addresses, set())

counted = os.path.abspath(f"{scratch}/counted.html")
with open(counted, "w", encoding="utf-8") as file:
    file.write(text.replace("</body>", COUNT + "</body>"))
elements = Elements()
elements.feed(render(counted))
best = data["plans"][0]
expect("end of the script", elements.named["body"].get("data-ready"), "yes")
expect("files from elsewhere", elements.outside, [])
expect("rows of plans", elements.rows["plans"] - 1, len(data["plans"]))
expect("rows of operations", elements.rows["ops"] - 1, len(best["ops"]))
expect("rows of alternatives", elements.rows["alternatives"] - 1, len(data["alternatives"]))
expect("rows of the search", elements.rows["search"] - 1, len(data["search"]))
used = [kind for kind in data["time_kinds"] if any(plan["time_s"][kind] for plan in data["plans"][:2])]
expect("rows of kinds of time", elements.rows["why"] - 2, len(used))
parts = sum(1 for stage in best["stages"] for part, size in stage["memory_bytes"].items() if part != "total" and size > 0)
expect("parts of memory", elements.classes["memory-part"], parts)
is_there = any(point["summary"] == best["summary"] for point in data["frontier"])
expect("points of the frontier and the best plan", elements.classes["frontier-point"], len(data["frontier"]) + (not is_there))
actions = sum(len(device) for device in data["timeline"]["devices"])
expect("actions of the timeline", int(elements.named["timeline"]["data-actions"]), actions)
expect("timeline drawn", elements.named["timeline"].get("data-painted"), "yes")

expect("lines of memory", elements.classes["memory-line"], best["layout"]["pp"])
for stage, line in zip(best["stages"], data["timeline"]["memory"], strict=True):
    peak = max(bytes_held for _, bytes_held in line)
    if abs(peak / stage["memory_bytes"]["total"] - 1) > 1e-6:
        sys.exit(f"a line of memory rises to {peak}, not to {stage['memory_bytes']['total']}")

# The canvas has as many pixels of the two colours as the actions last; labels on them and gaps take some.
plot_width, bar_height = (float(number) for number in elements.named["body"]["data-plot"].split())
device_count = len(data["timeline"]["devices"])
end = data["timeline"]["end_us"]
for kind, name in enumerate(("forward", "backward")):
    lasting = sum(action[4] - action[3] for device in data["timeline"]["devices"] for action in device
                  if action[0] == kind and action[1] // device_count % 2 == 0)
    wanted = lasting / end * plot_width * bar_height
    found = int(elements.named["body"][f"data-{name}-pixels"])
    if not 0.7 * wanted < found < 1.05 * wanted:
        sys.exit(f"{found} pixels of the timeline show {name}, about {wanted:.0f} should")
