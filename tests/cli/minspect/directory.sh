mkdir d
minspect d
