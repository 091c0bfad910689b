a = 'it\'s' "x" r'\d' '''three
lines''' u'\u00e4\x41\101\N'
b = ('one '
     'two')
c = \
  -1_000.5e-3
