import { BlockList, isIP } from 'node:net';

/** Ranges of IPv4 that are not for the public internet (IANA's registry of special-purpose addresses, multicast, reserved). */
const SPECIAL_IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // behind a carrier's NAT
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, where clouds answer with credentials
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // relays of 6to4
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
];

/** Beside which nothing of IPv6 is public: loopback, link-local, unique local and multicast lie outside. */
const GLOBAL_UNICAST = ['2000::', 3] as const;

/** Ranges inside global unicast that are not for the public internet. */
const SPECIAL_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23], // protocol assignments, Teredo among them, which has an IPv4 address of anybody's choice inside
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, with an IPv4 address inside
  ['3fff::', 20], // documentation
];

/** What stands before the 32 bits of an IPv4 address: mapped ones, and NAT64, the only way to IPv4 hosts in some networks. */
const WITH_IPV4_INSIDE = ['::ffff:', '64:ff9b::'];

const specialIpv4 = new BlockList();
for (const [network, prefix] of SPECIAL_IPV4) specialIpv4.addSubnet(network, prefix, 'ipv4');

const publicIpv6 = new BlockList();
publicIpv6.addSubnet(...GLOBAL_UNICAST, 'ipv6');
const specialIpv6 = new BlockList();
for (const [network, prefix] of SPECIAL_IPV6) specialIpv6.addSubnet(network, prefix, 'ipv6');
for (const leading of WITH_IPV4_INSIDE) {
  publicIpv6.addSubnet(`${leading}0.0.0.0`, 96, 'ipv6');
  for (const [network, prefix] of SPECIAL_IPV4) specialIpv6.addSubnet(leading + network, 96 + prefix, 'ipv6');
}

/** Whether an IP address is one of the public internet. What is no IP address is not. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !specialIpv4.check(address, 'ipv4');
    case 6:
      // One with a zone (fe80::1%eth0), which is link-local, is in no list.
      return publicIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6');
    default:
      return false;
  }
}
