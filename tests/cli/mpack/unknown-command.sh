mpack chexk
