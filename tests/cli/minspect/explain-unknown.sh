minspect --explain blob-digest blob-digets
