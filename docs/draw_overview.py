"""Write docs/overview.svg and docs/overview.zh-CN.svg, the picture of both READMEs.

python docs/draw_overview.py          # writes the files
python docs/draw_overview.py --check  # fails if they are out of date
"""

import argparse
from pathlib import Path
from xml.sax.saxutils import escape

FOLDER = Path(__file__).resolve().parent
WIDTH, HEIGHT = 720, 250

# The colours follow the reader's scheme. All text is on a box of its own colour, so that it can be read where a page's scheme is another.
STYLE = """
text { font-family: system-ui, -apple-system, 'Segoe UI', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif;
       font-size: 15px; text-anchor: middle; fill: #1f2328; }
.title { font-weight: 600; font-size: 16px; }
.code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 14px; }
.program { fill: #ddf4ff; stroke: #54aeff; }
.border { fill: #fff8c5; stroke: #d4a72c; }
.engine { fill: #dafbe1; stroke: #4ac26b; }
.cann { fill: #eff1f3; stroke: #8c959f; }
.link { stroke: #8c959f; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .program { fill: #0c2d6b; stroke: #388bfd; }
  .border { fill: #4b2900; stroke: #bb8009; }
  .engine { fill: #033a16; stroke: #2ea043; }
  .cann { fill: #2d333b; stroke: #768390; }
}
"""

# Of each language: the lines of the program, of the border, of the engine and of CANN.
LABELS = {
    "overview.svg": (
        "Your program on torch_npu above CANN's C interface; below it this package's engine on a CPU, or CANN on an NPU",
        ("your program", 'device="npu"', "PyTorch, torch_npu: the wheels as they are"),
        "CANN's C interface: acl, aclnn, hccl",
        ("host engine (torch_aclnn)", "Linux on a CPU: laptop, CI", "no NPU, no CANN, no driver"),
        ("CANN", "Ascend NPU", "the engine stays out of the way"),
    ),
    "overview.zh-CN.svg": (
        "用户程序与 torch_npu 位于 CANN 的 C 接口之上；接口之下是本项目在 CPU 上的主机引擎，或 NPU 上的 CANN",
        ("你的程序", 'device="npu"', "PyTorch 与 torch_npu：官方 wheel 包，不做修改"),
        "CANN 的 C 接口：acl、aclnn、hccl",
        ("主机引擎（torch_aclnn）", "Linux、普通 CPU：笔记本、CI", "无需 NPU、CANN 和驱动"),
        ("CANN", "昇腾 NPU", "此时引擎不介入"),
    ),
}


def box(kind: str, x: int, y: int, width: int, height: int) -> str:
    """Return a rounded box."""
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>'


def lines(x: int, y: int, texts: tuple[str, ...], *styles: str) -> str:
    """Return lines of text under each other, centred at x."""
    return "\n".join(
        f'<text class="{style}" x="{x}" y="{y + 23 * number}">{escape(text)}</text>'
        for number, (text, style) in enumerate(zip(texts, styles, strict=True))
    )


def picture(name: str) -> str:
    """Return the picture of this name."""
    description, program, border, engine, cann = LABELS[name]
    centre, half = WIDTH // 2, (WIDTH - 30) // 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">',
        f"<title>{escape(description)}</title>",
        f"<style>{STYLE}</style>",
        *(f'<line class="link" x1="{x}" x2="{x}" y1="85" y2="160"/>' for x in (10 + half // 2, WIDTH - 10 - half // 2)),
        box("program", 10, 8, WIDTH - 20, 84),
        lines(centre, 32, program, "title", "code", ""),
        box("border", 10, 106, WIDTH - 20, 34),
        lines(centre, 128, (border,), "title"),
        box("engine", 10, 154, half, 86),
        lines(10 + half // 2, 180, engine, "title", "", ""),
        box("cann", WIDTH - 10 - half, 154, half, 86),
        lines(WIDTH - 10 - half // 2, 180, cann, "title", "", ""),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    """Write the pictures, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a picture is out of date")
    check = parser.parse_args().check
    for name in LABELS:
        if not check:
            (FOLDER / name).write_text(picture(name))
        elif (FOLDER / name).read_text() != picture(name):
            raise SystemExit(f"docs/{name} is out of date: run python docs/draw_overview.py")


if __name__ == "__main__":
    main()
