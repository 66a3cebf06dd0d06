import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../lib/image/url-address.js';

/** First and last address of each range that is refused, and the public neighbours outside of it, where it has any. */
const RANGES: [what: string, first: string, last: string, ...outside: string[]][] = [
  ['this network', '0.0.0.0', '0.255.255.255', '1.0.0.0'],
  ['private', '10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['a carrier’s NAT', '100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['loopback', '127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['link-local', '169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['private', '172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['protocol assignments', '192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['documentation', '192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['relays of 6to4', '192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['private', '192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['benchmarks', '198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['documentation', '198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['documentation', '203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['multicast, reserved, broadcast', '224.0.0.0', '255.255.255.255', '223.255.255.255'],
];

const hex = (ipv4: string) => {
  const [a, b, c, d] = ipv4.split('.').map(Number) as [number, number, number, number];
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
};

describe('addresses of the public internet', () => {
  it.each(RANGES)('do not include %s, %s to %s, alone or inside an IPv6 address', (_, first, last, ...outside) => {
    for (const [address, isPublic] of [
      [first, false],
      [last, false],
      ...outside.map((one) => [one, true] as const),
    ] as const) {
      const ways = [
        address,
        `::ffff:${address}`,
        `::ffff:${hex(address)}`,
        `64:ff9b::${address}`,
        `64:ff9b::${hex(address)}`,
      ];
      for (const way of ways) expect([way, isPublicAddress(way)]).toEqual([way, isPublic]);
      // Ways that no network needs any more are closed for all.
      for (const way of [
        `2002:${hex(address)}::1`,
        `2001:0:${hex(address)}::1`,
        `::${address}`,
        `64:ff9b:1::${address}`,
      ])
        expect([way, isPublicAddress(way)]).toEqual([way, false]);
    }
  });

  it('include global unicast IPv6 and no more', () => {
    const open = ['2001:200::', '2606:4700:4700::1111', '2a00:1450:4001::', '2003::', '3ffe:ffff::', '3fff:1000::'];
    const closed = [
      '::',
      '::1',
      '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
      '2001::',
      '2001:1ff:ffff::',
      '2001:db8::1',
      '2002::',
      '2002:ffff:ffff::',
      '3fff::',
      '3fff:fff:ffff::',
      '4000::',
      '5f00::1',
      '100::1',
      'fc00::1',
      'fd00:ec2::254',
      'fe80::1',
      'fe80::1%eth0',
      'fec0::1',
      'ff02::1',
      '::ffff:0:127.0.0.1',
      '::fffe:8.8.8.8',
    ];
    for (const address of open) expect([address, isPublicAddress(address)]).toEqual([address, true]);
    for (const address of closed) expect([address, isPublicAddress(address)]).toEqual([address, false]);
  });

  it('do not include what is no address', () => {
    for (const text of ['', 'localhost', '8.8.8', '8.8.8.8.', '08.8.8.8', '[::1]', '8.8.8.8/8'])
      expect([text, isPublicAddress(text)]).toEqual([text, false]);
  });
});
