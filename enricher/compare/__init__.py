"""Champion against challenger: match answers, judge the pairs, count, gate, write back, export preferences."""
