mpack build data/formats/08_const_loader.blob -o - --emit=blob | cmp - data/formats/08_const_loader.blob
mpack build - -o - --emit=c <data/formats/08_const_loader.blob | head -n 18 | tail -n 3
