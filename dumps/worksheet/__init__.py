"""A worksheet of any graph: a page to print, its solution, Markdown, and a spreadsheet that checks itself.

    page(sheet, solution=False) -> str          HTML, one A4 side
    markdown(sheet, solution=False) -> str
    self_check(trace, exercise, …) -> bytes     an .xlsx file (`self_check`)

What is on a sheet comes as records (`sheet`): steps with their boxes, whatever the graph. `layout` says where
everything stands on paper, `page` draws it.
"""
