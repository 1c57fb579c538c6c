//! Error codes of the CUDA runtime that warpsieve's replacement library can return, with their names and
//! descriptions.

use std::ffi::CStr;

use serde::{Deserialize, Serialize};

/// Error code of the CUDA runtime, `cudaError_t`. 0 is success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(transparent)]
pub struct CudaError(pub i32);

/// Error code with its name and its description.
struct Known(CudaError, &'static CStr, &'static CStr);

impl CudaError {
    /// The call succeeded.
    pub const SUCCESS: Self = Self(0);
    /// An argument is outside its legal range.
    pub const INVALID_VALUE: Self = Self(1);
    /// Not enough device memory is free.
    pub const MEMORY_ALLOCATION: Self = Self(2);
    /// The process is ending, so the call was not executed.
    pub const UNLOADING: Self = Self(4);
    /// The size of the grid or of the CTAs exceeds a limit of the device.
    pub const INVALID_CONFIGURATION: Self = Self(9);
    /// The pitch of a copy, which is the distance between two rows, is smaller than the width of a row.
    pub const INVALID_PITCH: Self = Self(12);
    /// The symbol is not a device variable of the program.
    pub const INVALID_SYMBOL: Self = Self(13);
    /// The address is not one that a memory allocation of the runtime returned.
    pub const INVALID_DEVICE_POINTER: Self = Self(17);
    /// The direction of a copy does not match the kinds of memory at its addresses.
    pub const INVALID_MEMCPY_DIRECTION: Self = Self(21);
    /// The function is not a kernel of the program.
    pub const INVALID_DEVICE_FUNCTION: Self = Self(98);
    /// The device number is too large.
    pub const INVALID_DEVICE: Self = Self(101);
    /// The handle of an event or a stream is unknown.
    pub const INVALID_RESOURCE_HANDLE: Self = Self(400);
    /// The event has not been recorded yet.
    pub const NOT_READY: Self = Self(600);
    /// A kernel accessed an illegal address.
    pub const ILLEGAL_ADDRESS: Self = Self(700);
    /// A launch needs more of a resource, such as registers, than an SM has.
    pub const LAUNCH_OUT_OF_RESOURCES: Self = Self(701);
    /// A kernel performed an illegal operation.
    pub const LAUNCH_FAILURE: Self = Self(719);
    /// The model does not support the CUDA feature.
    pub const NOT_SUPPORTED: Self = Self(801);

    /// Returns the name of the error code, such as `cudaErrorInvalidValue`.
    #[must_use]
    pub fn name(self) -> &'static CStr {
        self.known().map_or(c"unrecognized error code", |known| known.1)
    }

    /// Returns the description of the error code.
    #[must_use]
    pub fn description(self) -> &'static CStr {
        self.known().map_or(c"unrecognized error code", |known| known.2)
    }

    fn known(self) -> Option<&'static Known> {
        KNOWN.iter().find(|known| known.0 == self)
    }
}

static KNOWN: [Known; 17] = [
    Known(CudaError::SUCCESS, c"cudaSuccess", c"no error"),
    Known(CudaError::INVALID_VALUE, c"cudaErrorInvalidValue", c"invalid argument"),
    Known(CudaError::MEMORY_ALLOCATION, c"cudaErrorMemoryAllocation", c"out of memory"),
    Known(CudaError::UNLOADING, c"cudaErrorCudartUnloading", c"driver shutting down"),
    Known(CudaError::INVALID_PITCH, c"cudaErrorInvalidPitchValue", c"invalid pitch argument"),
    Known(CudaError::INVALID_CONFIGURATION, c"cudaErrorInvalidConfiguration", c"invalid configuration argument"),
    Known(CudaError::INVALID_SYMBOL, c"cudaErrorInvalidSymbol", c"invalid device symbol"),
    Known(CudaError::INVALID_DEVICE_POINTER, c"cudaErrorInvalidDevicePointer", c"invalid device pointer"),
    Known(
        CudaError::INVALID_MEMCPY_DIRECTION,
        c"cudaErrorInvalidMemcpyDirection",
        c"invalid copy direction for memcpy",
    ),
    Known(CudaError::INVALID_DEVICE_FUNCTION, c"cudaErrorInvalidDeviceFunction", c"invalid device function"),
    Known(CudaError::INVALID_DEVICE, c"cudaErrorInvalidDevice", c"invalid device ordinal"),
    Known(CudaError::INVALID_RESOURCE_HANDLE, c"cudaErrorInvalidResourceHandle", c"invalid resource handle"),
    Known(CudaError::NOT_READY, c"cudaErrorNotReady", c"device not ready"),
    Known(CudaError::ILLEGAL_ADDRESS, c"cudaErrorIllegalAddress", c"an illegal memory access was encountered"),
    Known(
        CudaError::LAUNCH_OUT_OF_RESOURCES,
        c"cudaErrorLaunchOutOfResources",
        c"too many resources requested for launch",
    ),
    Known(CudaError::LAUNCH_FAILURE, c"cudaErrorLaunchFailure", c"unspecified launch failure"),
    Known(CudaError::NOT_SUPPORTED, c"cudaErrorNotSupported", c"operation not supported"),
];
