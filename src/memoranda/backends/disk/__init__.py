"""A real folder that nothing leads out of: `names`, `folder` and `root` to find, `files` and `lock` to change."""
