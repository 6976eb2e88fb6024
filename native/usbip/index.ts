/**
 * The face of the usbip addon: TCP connections whose descriptor is ours to give away, questions that take one along,
 * and the kernel's word of devices that come and go. What fails throws an Error with code, errno and syscall.
 */

export { askWithFd } from './ask.ts'
export { type Patience, setPatience, TcpConnection, TcpListener } from './tcp.ts'
export { UeventSocket } from './uevents.ts'
