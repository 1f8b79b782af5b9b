from __future__ import annotations

from fitcarl.serve.metrics import Metrics


def test_requests_are_counted_by_route_and_status() -> None:
    metrics = Metrics()
    for seconds in (0.004, 0.02, 30.0):
        metrics.record_request("POST", "/v1/predict", 200, seconds)
    metrics.record_request("POST", "/v1/predict", 503, 0.001)
    lines = metrics.text().splitlines()
    assert 'fitcarl_requests_total{method="POST",route="/v1/predict",status="200"} 3' in lines
    assert 'fitcarl_requests_total{method="POST",route="/v1/predict",status="503"} 1' in lines
    assert 'fitcarl_request_seconds_bucket{route="/v1/predict",le="0.005"} 2' in lines
    assert 'fitcarl_request_seconds_bucket{route="/v1/predict",le="0.025"} 3' in lines
    assert 'fitcarl_request_seconds_bucket{route="/v1/predict",le="10"} 3' in lines
    assert 'fitcarl_request_seconds_bucket{route="/v1/predict",le="+Inf"} 4' in lines
    assert 'fitcarl_request_seconds_count{route="/v1/predict"} 4' in lines


def test_histogram_bounds_are_inclusive() -> None:
    metrics = Metrics()
    metrics.record_batch(4)
    assert 'fitcarl_queries_per_batch_bucket{le="2"} 0' in metrics.text()
    assert 'fitcarl_queries_per_batch_bucket{le="4"} 1' in metrics.text()


def test_large_numbers_keep_all_digits_and_labels_are_escaped() -> None:
    metrics = Metrics()
    metrics.set_gauge("fitcarl_stored_facts", "Facts.", lambda: 12_345_679)
    metrics.record_request("GET", 'a"b\\c\nd', 200, 0.001)
    assert "fitcarl_stored_facts 12345679\n" in metrics.text()
    assert r'route="a\"b\\c\nd"' in metrics.text()
