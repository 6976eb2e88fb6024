/** What JavaScript sees: open, openPty, enterRealtime and the methods of a port. */
#include <asm/ioctls.h>
#include <errno.h>
#include <node_api.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include <memory>
#include <vector>

#include "call.h"
#include "job.h"
#include "opening.h"
#include "passing-calls.h"
#include "pty.h"

/** Runs one ioctl-like call on the pool while nobody closes the descriptor. */
static napi_value portJob(napi_env env, const Call& call, const char* name, std::function<Failure(int fd)> work,
                          std::function<napi_value(napi_env)> result = {}) {
  Port* port = call.port;
  Job job;
  job.name = name;
  job.path = port->path();
  job.work = [port, name, work]() -> Failure {
    std::lock_guard<std::mutex> guard(port->callMutex);
    return port->isClosing() || port->fd < 0 ? failedCall(name, ECANCELED) : work(port->fd);
  };
  job.result = result;
  return startJob(env, call.self, std::move(job));
}

static napi_value simpleJob(napi_env env, const Call& call, const char* name, unsigned long request,
                            unsigned long argument) {
  return portJob(env, call, name, [name, request, argument](int fd) {
    return ioctl(fd, request, argument) < 0 ? failedCall(name, errno) : Failure{};
  });
}

/** An ioctl that reads one int. */
static napi_value readJob(napi_env env, const Call& call, const char* name, unsigned long request) {
  auto value = std::make_shared<int>(0);
  return portJob(
      env, call, name,
      [name, request, value](int fd) {
        return ioctl(fd, request, value.get()) < 0 ? failedCall(name, errno) : Failure{};
      },
      [value](napi_env env) { return jsNumber(env, *value); });
}

static Settings settingsOf(napi_env env, napi_value object) {
  Settings s;
  auto number = [&](const char* name) { return numberOf(env, namedOf(env, object, name)); };
  auto flag = [&](const char* name) { return boolOf(env, namedOf(env, object, name)); };
  s.baud = static_cast<unsigned>(number("baud"));
  s.dataBits = static_cast<int>(number("dataBits"));
  s.parity = static_cast<Parity>(static_cast<int>(number("parity")));
  s.twoStops = flag("twoStops");
  s.rtscts = flag("rtscts");
  s.xon = flag("xon");
  s.xoff = flag("xoff");
  s.xany = flag("xany");
  s.hupcl = flag("hupcl");
  s.markErrors = flag("markErrors");
  s.lowLatency = flag("lowLatency");
  s.rs485.isGiven = flag("rs485Given");
  s.rs485.enabled = flag("rs485Enabled");
  s.rs485.rtsOnSend = flag("rtsOnSend");
  s.rs485.rxDuringTx = flag("rxDuringTx");
  s.rs485.delayBeforeMs = static_cast<unsigned>(number("delayBeforeMs"));
  s.rs485.delayAfterMs = static_cast<unsigned>(number("delayAfterMs"));
  return s;
}

static napi_value newPort(napi_env env, const Opened& opened, const std::string& path) {
  napi_ref constructorRef = nullptr;
  napi_value constructor, object;
  napi_get_instance_data(env, reinterpret_cast<void**>(&constructorRef));
  napi_get_reference_value(env, constructorRef, &constructor);
  napi_new_instance(env, constructor, 0, nullptr, &object);
  Port* port = nullptr;
  napi_unwrap(env, object, reinterpret_cast<void**>(&port));
  port->adopt(opened, path);
  return object;
}

/** open(path, settings, lock, lockFolder) -> promise of a port */
static napi_value Open(napi_env env, napi_callback_info info) {
  size_t count = 4;
  napi_value args[4];
  napi_get_cb_info(env, info, &count, args, nullptr, nullptr);
  auto order = std::make_shared<OpenOrder>();
  order->path = textOf(env, args[0]);
  order->settings = settingsOf(env, args[1]);
  order->lock = boolOf(env, args[2]);
  order->lockFolder = textOf(env, args[3]);
  auto opened = std::make_shared<Opened>();
  Job job;
  job.name = "open";
  job.path = order->path;
  job.work = [order, opened] { return openDevice(*order, opened.get()); };
  job.result = [order, opened](napi_env env) { return newPort(env, *opened, order->path); };
  return startJob(env, nullptr, std::move(job));
}

/** openPty() -> port; its `path` is the device end */
static napi_value OpenPty(napi_env env, napi_callback_info info) {
  Opened opened;
  std::string path;
  Failure failure = makePty(&opened, &path);
  return failure.failed() ? throwFailure(env, failure, "/dev/ptmx") : newPort(env, opened, path);
}

static napi_value Begin(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  return call.port->begin(call.args[0], call.args[1]);
}

static napi_value Want(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  return call.port->want(static_cast<int64_t>(numberOf(env, call.args[0])));
}

static napi_value ReadNow(napi_env env, napi_callback_info info) { return callOf(env, info).port->readNow(); }

static napi_value WakeIn(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  return call.port->wakeIn(static_cast<uint64_t>(numberOf(env, call.args[0])));
}

/** sendIn(us, bytes) */
static napi_value SendIn(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  return call.port->sendIn(static_cast<uint64_t>(numberOf(env, call.args[0])), call.args[1]);
}

static napi_value SendIfQuiet(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  return call.port->sendIfQuiet(call.args[0]);
}

static napi_value DropSend(napi_env env, napi_callback_info info) { return callOf(env, info).port->dropSend(); }

/** readEvery(ms) */
static napi_value ReadEvery(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  return call.port->readEvery(static_cast<uint64_t>(numberOf(env, call.args[0])));
}

static napi_value Write(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  return call.port->write(call.args[0], static_cast<size_t>(numberOf(env, call.args[1])));
}

static napi_value AwaitWritable(napi_env env, napi_callback_info info) {
  return callOf(env, info).port->awaitWritable();
}

static napi_value OutQueue(napi_env env, napi_callback_info info) { return callOf(env, info).port->outQueue(); }

static napi_value Counts(napi_env env, napi_callback_info info) { return callOf(env, info).port->counts(); }

static napi_value Configure(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  Settings settings = settingsOf(env, call.args[0]);
  auto unsupported = std::make_shared<int>(0);
  return portJob(env, call, "TCSETS2",
                 [settings, unsupported](int fd) { return applySettings(fd, settings, unsupported.get()); });
}

static napi_value Baud(napi_env env, napi_callback_info info) {
  auto baud = std::make_shared<unsigned>(0);
  return portJob(
      env, callOf(env, info), "TCGETS2", [baud](int fd) { return readBaud(fd, baud.get()); },
      [baud](napi_env env) { return jsNumber(env, *baud); });
}

static napi_value Modem(napi_env env, napi_callback_info info) {
  return readJob(env, callOf(env, info), "TIOCMGET", TIOCMGET);
}

static napi_value LineStatus(napi_env env, napi_callback_info info) {
  return readJob(env, callOf(env, info), "TIOCSERGETLSR", TIOCSERGETLSR);
}

/** setModem(bitsOn, bitsOff) */
static napi_value SetModem(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  int on = static_cast<int>(numberOf(env, call.args[0]));
  int off = static_cast<int>(numberOf(env, call.args[1]));
  return portJob(env, call, "TIOCMBIS", [on, off](int fd) {
    if (on != 0 && ioctl(fd, TIOCMBIS, &on) < 0) return failedCall("TIOCMBIS", errno);
    if (off != 0 && ioctl(fd, TIOCMBIC, &off) < 0) return failedCall("TIOCMBIC", errno);
    return Failure{};
  });
}

static napi_value SetBreak(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  bool isOn = boolOf(env, call.args[0]);
  return simpleJob(env, call, isOn ? "TIOCSBRK" : "TIOCCBRK", isOn ? TIOCSBRK : TIOCCBRK, 0);
}

/** flush(queue): 0 received, 1 to be sent, 2 both */
static napi_value Flush(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  return simpleJob(env, call, "TCFLSH", TCFLSH, static_cast<unsigned long>(numberOf(env, call.args[0])));
}

static napi_value blockingCall(napi_env env, const Call& call, const char* name, unsigned long request,
                               unsigned long argument) {
  if (call.port->isClosing()) return throwFailure(env, failedCall(name, ECANCELED), call.port->path());
  BlockingCall* blocking = new BlockingCall;
  blocking->name = name;
  blocking->request = request;
  blocking->argument = argument;
  blocking->fd = call.port->fd;
  blocking->path = call.port->path();
  return call.port->blocking.start(env, call.self, blocking);
}

static napi_value Drain(napi_env env, napi_callback_info info) {
  return blockingCall(env, callOf(env, info), "TCSBRK", TCSBRK, 1);
}

/** waitModem(bits): resolves at the next change of one of them */
static napi_value WaitModem(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  return blockingCall(env, call, "TIOCMIWAIT", TIOCMIWAIT, static_cast<unsigned long>(numberOf(env, call.args[0])));
}

static napi_value Close(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  Port* port = call.port;
  port->setClosing();
  port->stopPolling();
  Job job;
  job.name = "close";
  job.path = port->path();
  job.work = [port] { return port->closeDescriptors(); };
  return startJob(env, call.self, std::move(job));
}

static napi_value GetPath(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  napi_value text;
  napi_create_string_utf8(env, call.port->path().c_str(), NAPI_AUTO_LENGTH, &text);
  return text;
}

static napi_value GetUnsupported(napi_env env, napi_callback_info info) {
  return jsNumber(env, callOf(env, info).port->unsupported);
}

static napi_value Construct(napi_env env, napi_callback_info info) {
  napi_value self;
  napi_get_cb_info(env, info, nullptr, nullptr, &self, nullptr);
  Port* port = new Port(env);
  napi_wrap(env, self, port, [](napi_env, void* data, void*) { delete static_cast<Port*>(data); }, nullptr, nullptr);
  return self;
}

/** enterRealtime(priority): 0, or errno. For the thread that calls, which shares a core with its equals in turns. */
static napi_value EnterRealtime(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_get_cb_info(env, info, &count, &argument, nullptr, nullptr);
  sched_param param{};
  napi_get_value_int32(env, argument, &param.sched_priority);
  // By default the kernel lets a timer be 50 us late.
  prctl(PR_SET_TIMERSLACK, 1);
  // Reset on fork: what this thread starts must not run at real-time priority.
  const int failure = pthread_setschedparam(pthread_self(), SCHED_RR | SCHED_RESET_ON_FORK, &param);
  napi_value result;
  napi_create_int32(env, failure, &result);
  return result;
}

NAPI_MODULE_INIT() {
  std::vector<napi_property_descriptor> methods = {
      METHOD("begin", Begin),
      METHOD("want", Want),
      METHOD("readNow", ReadNow),
      METHOD("wakeIn", WakeIn),
      METHOD("sendIn", SendIn),
      METHOD("sendIfQuiet", SendIfQuiet),
      METHOD("dropSend", DropSend),
      METHOD("readEvery", ReadEvery),
      METHOD("write", Write),
      METHOD("awaitWritable", AwaitWritable),
      METHOD("outQueue", OutQueue),
      METHOD("counts", Counts),
      METHOD("configure", Configure),
      METHOD("baud", Baud),
      METHOD("modem", Modem),
      METHOD("setModem", SetModem),
      METHOD("waitModem", WaitModem),
      METHOD("setBreak", SetBreak),
      METHOD("lineStatus", LineStatus),
      METHOD("flush", Flush),
      METHOD("drain", Drain),
      METHOD("close", Close),
      {"path", nullptr, nullptr, GetPath, nullptr, nullptr, napi_enumerable, nullptr},
      {"unsupported", nullptr, nullptr, GetUnsupported, nullptr, nullptr, napi_enumerable, nullptr},
  };
  napi_value constructor;
  for (const napi_property_descriptor& method : passingCalls()) methods.push_back(method);
  napi_define_class(env, "Port", NAPI_AUTO_LENGTH, Construct, nullptr, methods.size(), methods.data(), &constructor);
  napi_ref constructorRef;
  napi_create_reference(env, constructor, 1, &constructorRef);
  napi_set_instance_data(env, constructorRef, nullptr, nullptr);
  const napi_property_descriptor functions[] = {METHOD("open", Open), METHOD("openPty", OpenPty),
                                                METHOD("enterRealtime", EnterRealtime)};
  napi_define_properties(env, exports, sizeof functions / sizeof functions[0], functions);
  return exports;
}
