# a bare blob with something behind it
cp data/formats/08_const_loader.blob tail.blob
chmod u+w tail.blob
printf x >>tail.blob
minspect --verify tail.blob
