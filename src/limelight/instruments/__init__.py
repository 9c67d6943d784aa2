"""Instruments for ViTs that come from elsewhere: read, never trained.

`sight` what a ViT takes in; `gallery` labelled images made to fit it, with known roles where one is
pasted on another; `prune` what keeping fewer tokens costs and saves; `probe` where attention goes
and what becomes of noise, `positions` what positions know, `overlay` the cluster model of xu2022
beside real heads; `page` all of that on one page.
"""
