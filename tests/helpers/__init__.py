"""What several tests share: inputs they make, plain Python they are held against, and checks of what comes out."""
