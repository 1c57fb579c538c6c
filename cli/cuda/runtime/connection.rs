//! Connection through which the library sends requests to the simulator.

use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;

use cuda::error::CudaError;
use cuda::wire::{self, DeviceProperties, Reply, Request};

/// Reason why a function of the CUDA runtime fails.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// Error code that the function returns to the program.
    Code(CudaError),
    /// The whole process must end. If there is a text, the process prints it first.
    End(Option<String>),
}

impl From<CudaError> for Failure {
    fn from(error: CudaError) -> Self {
        Self::Code(error)
    }
}

/// Connection of the CUDA program to the simulator.
pub struct Connection {
    to: UnixStream,
    from: BufReader<UnixStream>,
    /// Properties of the simulated device, which the simulator sends when the connection is opened.
    pub device: DeviceProperties,
}

impl Connection {
    /// Connects to the simulator that started this process.
    pub fn open() -> Result<Self, Failure> {
        let Some(path) = std::env::var_os(wire::SOCKET) else {
            let text =
                "this library runs CUDA programs on a simulated machine: start the program with `warpsieve exec`";
            return Err(Failure::End(Some(text.to_owned())));
        };
        let to = UnixStream::connect(path).map_err(|e| lost(&e))?;
        let from = BufReader::new(to.try_clone().map_err(|e| lost(&e))?);
        let mut connection = Self { to, from, device: DeviceProperties::default() };
        match connection.request(&Request::Hello { version: wire::VERSION.to_owned() }, &[])? {
            (Reply::Device(device), _) => connection.device = *device,
            (reply, _) => return Err(fail_unexpected(&reply)),
        }
        Ok(connection)
    }

    /// Sends a request and its raw bytes. Waits for the reply, and returns the reply and its raw bytes.
    pub fn request(&mut self, request: &Request, raw: &[u8]) -> Result<(Reply, Vec<u8>), Failure> {
        wire::send(&mut self.to, request, raw).map_err(|e| lost(&e))?;
        match wire::receive(&mut self.from).map_err(|e| lost(&e))? {
            Some((Reply::Failed(error), _)) => Err(error.into()),
            Some((Reply::Refused, _)) => Err(Failure::End(None)),
            Some(answer) => Ok(answer),
            None => Err(lost(&io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

fn lost(error: &io::Error) -> Failure {
    Failure::End(Some(format!("the simulator does not answer: {error}")))
}

/// Returns the failure for a reply of the simulator that does not fit the request. This failure ends the
/// process.
pub fn fail_unexpected(reply: &Reply) -> Failure {
    Failure::End(Some(format!("the simulator gave an unexpected answer: {reply:?}")))
}
