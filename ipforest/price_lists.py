"""Price lists, under the name that was public before `ipforest.tabular` held them."""

from ipforest.tabular.price_lists import PriceList, read_prices, write_prices

__all__ = ["PriceList", "read_prices", "write_prices"]
