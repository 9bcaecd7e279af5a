"""The features of a URL: `url.read_url`."""
