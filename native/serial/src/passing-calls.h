/** The methods of a port that pass bytes to and from sockets. */
#pragma once

#include <node_api.h>

#include <vector>

std::vector<napi_property_descriptor> passingCalls();
