/**
 * TypeScript interface of the usbip addon: TCP connections whose descriptor can be passed on, requests that carry one,
 * and the kernel's events of devices that come and go. Failures throw an Error with code, errno and syscall.
 */

export { askWithFd } from './ask.ts'
export { type Patience, setPatience, TcpConnection, TcpListener } from './tcp.ts'
export { UeventSocket } from './uevents.ts'
