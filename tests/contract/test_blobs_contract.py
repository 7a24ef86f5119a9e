from __future__ import annotations

import hashlib

from state_adapters import Adapter

from skillopt.state.ports import State


class TestBlobs:
    def test_the_hash_of_the_content_is_its_address(self, state: State):
        contents = [b"", b"text", bytes(range(256)) * 1000]
        hashes = state.blobs.put(contents)
        assert hashes == [hashlib.sha256(content).hexdigest() for content in contents]
        assert state.blobs.get(hashes) == dict(zip(hashes, contents, strict=True))

    def test_a_missing_blob_is_absent(self, state: State):
        [sha] = state.blobs.put([b"x"])
        assert state.blobs.get([sha, "0" * 64]) == {sha: b"x"}

    def test_more_blobs_than_one_round_trip_takes(self, state: State):
        hashes = state.blobs.put([str(number).encode() for number in range(200)])
        assert len(state.blobs.get(hashes)) == 200

    def test_reading_and_storing_again_keep_a_blob_alive(self, adapter: Adapter):
        blobs, ttl_s = adapter.state.blobs, adapter.timing.blob_ttl_s
        read, stored, left = blobs.put([b"read", b"stored", b"left"])
        adapter.advance(ttl_s - 10)
        blobs.get([read])
        blobs.put([b"stored"])
        adapter.advance(20)
        assert blobs.get([read, stored, left]) == {read: b"read", stored: b"stored"}

    def test_renewing_says_which_blobs_are_there_and_keeps_them_alive(self, adapter: Adapter):
        blobs, ttl_s = adapter.state.blobs, adapter.timing.blob_ttl_s
        kept, left = blobs.put([b"kept", b"left"])
        adapter.advance(ttl_s - 10)
        assert blobs.renew([kept, "0" * 64]) == {kept}
        assert blobs.renew([]) == set()
        adapter.advance(20)
        assert blobs.get([kept, left]) == {kept: b"kept"}
