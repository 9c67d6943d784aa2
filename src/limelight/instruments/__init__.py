"""Instruments for ViTs that come from elsewhere: read, never trained.

`sight` what a ViT takes in; `gallery` labelled images made to fit it, with known roles where one is
pasted on another; `prune` what keeping fewer tokens costs and saves, `curve` that as a picture;
`probe` everything that is read of a network, by one pass of `reading`: `positions` what positions
know, `collapse` how alike tokens are, `norms` which are artifacts, `overlay` the cluster model of
xu2022 beside real heads; `findings` all of that in words, `draw` in pictures, `page` on one page.
"""
